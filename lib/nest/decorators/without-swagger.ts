import { SetMetadata } from '@nestjs/common';

/** Keeps a controller out of the document of the application, as `@ApiExcludeController()` of `@nestjs/swagger` does. */
export const WithoutSwagger = (): ClassDecorator => SetMetadata('swagger/apiExcludeController', [true]);
