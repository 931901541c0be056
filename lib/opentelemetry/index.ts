// Tracing, `nestjs-delay-queue/opentelemetry`: anything not exported here can change at any time.

export { openTelemetry, type OpenTelemetryOptions } from './open-telemetry.js';
