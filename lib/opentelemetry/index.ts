// Tracing, `nestjs-delay-queue/opentelemetry`: what is not named here may change at any time.

export { openTelemetry, type OpenTelemetryOptions } from './open-telemetry.js';
