import logging

logger = logging.getLogger("nestjs_delay_queue")
