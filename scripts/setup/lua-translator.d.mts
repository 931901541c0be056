export declare const GLOBALS: ReadonlySet<string>;
export declare function translate(source: string, name: string): string;
