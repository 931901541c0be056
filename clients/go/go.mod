module nestjs-delay-queue/clients/go

go 1.19
