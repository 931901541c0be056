/** The path of the program that starts a RabbitMQ. */
export function rabbitmqServer(): string;
