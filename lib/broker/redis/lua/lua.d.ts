/** A Lua script as the build imports it, see scripts/setup/lua-scripts.mjs. */
declare module '*.lua' {
  const script: {
    /** With every include in place of its line. */
    readonly source: string;
    /** The names of its keys in their order. */
    readonly keys: readonly string[];
    /** The names of its arguments in their order. */
    readonly args: readonly string[];
    /** Whether further arguments follow. */
    readonly takesMore: boolean;
  };
  // A script is one value.
  export default script;
}
