module nestjs-delay-queue/sample/watch

go 1.19

require nestjs-delay-queue/clients/go v0.0.0

replace nestjs-delay-queue/clients/go => ../../../clients/go
