import { Type, plainToInstance } from 'class-transformer';
import { IsInt, IsOptional, IsUrl, Matches, Max, Min, validateSync } from 'class-validator';

const PREFIX = /^[\w.:-]{1,128}$/;

/** Host names need no dot: the names of containers have none. */
function IsRedisAddress(): PropertyDecorator {
  return IsUrl(
    { protocols: ['redis', 'rediss'], require_protocol: true, require_tld: false, allow_underscores: true },
    { message: '$property must be an address such as redis://user:password@host:6379/0' },
  );
}

/** The environment variables with their defaults. */
export class Environment {
  /** 0 means any free port. */
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(65_535)
  readonly PORT: number = 0;

  @IsRedisAddress()
  readonly REDIS_URL: string = 'redis://127.0.0.1:6379';

  @Matches(PREFIX)
  readonly QUEUE_PREFIX: string = 'sample-orders';

  /** Concurrent handler calls. */
  @Type(() => Number)
  @IsInt()
  @Min(1)
  readonly QUEUE_CONCURRENCY: number = 100;

  /** Default: {@link REDIS_URL}. */
  @IsOptional()
  @IsRedisAddress()
  readonly BILLING_REDIS_URL?: string;

  @Matches(PREFIX)
  readonly BILLING_QUEUE_PREFIX: string = 'sample-billing';
}

/**
 * For `ConfigModule.forRoot()`.
 *
 * @throws Error with all problems, but without the values, since addresses contain passwords
 */
export function validateEnvironment(variables: Record<string, unknown>): Environment {
  const environment = plainToInstance(Environment, variables, { exposeDefaultValues: true });
  const problems = validateSync(environment).flatMap(({ constraints = {} }) => Object.values(constraints));
  if (problems.length > 0) throw new Error(`The environment is wrong: ${problems.join(', ')}`);
  return environment;
}
