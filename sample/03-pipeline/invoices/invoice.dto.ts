import { Type } from 'class-transformer';
import { IsDate, IsInt, IsPositive, IsString, MinLength } from 'class-validator';

export class InvoiceDto {
  @IsString()
  @MinLength(1)
  readonly number!: string;

  @IsString()
  readonly customer!: string;

  /** In cents. */
  @IsInt()
  @IsPositive()
  readonly amount!: number;

  /** A string in the message, since JSON has no dates. */
  @Type(() => Date)
  @IsDate()
  readonly payBy!: Date;
}
