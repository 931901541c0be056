/** A Lua script as the build imports it: its source, with every include in place of its line. */
declare module '*.lua' {
  const source: string;
  // A source has no names to import.
  export default source;
}
