import { Type } from 'class-transformer';
import { IsDate, IsOptional, IsString } from 'class-validator';

export class RequestReportDto {
  @IsString()
  readonly title!: string;

  /** When it is to be built; at once where this is left out. */
  @IsOptional()
  @Type(() => Date)
  @IsDate()
  readonly startAt?: Date;
}
