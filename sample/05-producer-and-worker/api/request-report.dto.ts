import { Type } from 'class-transformer';
import { IsDate, IsOptional, IsString } from 'class-validator';

export class RequestReportDto {
  @IsString()
  readonly title!: string;

  /** When to build the report. Default: at once. */
  @IsOptional()
  @Type(() => Date)
  @IsDate()
  readonly startAt?: Date;
}
