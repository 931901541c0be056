/** Of this library; a test compares it with `package.json`, which the published code does not read. */
export const VERSION = '0.1.0';
