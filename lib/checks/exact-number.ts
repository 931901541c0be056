const FORM = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

const ZERO = 48;

/** Whether a number in JSON has the same digits once it was read as a double and written again: not one above 2^53 between two doubles, -0 or 1e400. */
export function isExactNumber(text: string): boolean {
  const written = String(Number(text));
  // Nearly all are written as everybody writes them.
  return written === text || decimalOf(written) === decimalOf(text);
}

/** The same text for every way to write a decimal number; what is none is itself. */
function decimalOf(text: string): string {
  const [, sign, whole = '', part = '', exponent = '0'] = FORM.exec(text) ?? [];
  if (sign === undefined) return text;
  const digits = whole + part;
  // By hand: an expression for the zeros at the end takes the square of their number where more digits follow.
  let begin = 0;
  while (digits.charCodeAt(begin) === ZERO) begin++;
  let end = digits.length;
  while (end > begin && digits.charCodeAt(end - 1) === ZERO) end--;
  if (begin === end) return `${sign}0`;
  return `${sign}${digits.slice(begin, end)}e${whole.length - begin + Number(exponent)}`;
}
