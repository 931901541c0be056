<?php

declare(strict_types=1);

namespace NestjsDelayQueue\Internal\Worker;

/** Why an attempt has failed whose handler took longer than the worker's timeout. */
final class HandlerTimeout extends \Exception {}
