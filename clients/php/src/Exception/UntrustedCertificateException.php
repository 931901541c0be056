<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Exception;

/** The certificate of what answers is not trusted, so nothing was sent. Trying again would not mend that. */
final class UntrustedCertificateException extends DelayQueueException {}
