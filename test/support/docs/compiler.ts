import { dirname, resolve } from 'node:path';
import ts from 'typescript';

const OPTIONS = readOptions();

/** Files that exist in memory only, compiled with the settings of this repository as if they were in a folder of it. */
export class MemoryProgram {
  readonly #folder: string;
  readonly #program: ts.Program;

  /** @param files text by file name */
  constructor(folder: string, files: ReadonlyMap<string, string>) {
    this.#folder = resolve(folder);
    const options = { ...OPTIONS, noEmit: false, outDir: resolve('dist') };
    const texts = new Map(Array.from(files, ([name, text]) => [this.#path(name), text]));
    const host = ts.createCompilerHost(options);
    const folders = new Set(Array.from(texts.keys(), (path) => dirname(path)));
    const directoryExists = host.directoryExists?.bind(host);
    const fileExists = host.fileExists.bind(host);
    const readFile = host.readFile.bind(host);
    host.directoryExists = (path) => folders.has(path) || (directoryExists?.(path) ?? false);
    host.fileExists = (path) => texts.has(path) || fileExists(path);
    host.readFile = (path) => texts.get(path) ?? readFile(path);
    this.#program = ts.createProgram([...texts.keys()], options, host);
  }

  /** What the compiler says of a file, as `line: TS… text`. */
  problems(name: string): string[] {
    return ts.getPreEmitDiagnostics(this.#program, this.#source(name)).map(({ file, start, code, messageText }) => {
      const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
      return `${line}: TS${code} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
  }

  /** The JavaScript that a file compiles to. */
  javaScript(name: string): string {
    let output = '';
    this.#program.emit(this.#source(name), (_path, text) => (output = text));
    return output;
  }

  #source(name: string): ts.SourceFile {
    const source = this.#program.getSourceFile(this.#path(name));
    if (!source) throw new Error(`${name} is not part of the program.`);
    return source;
  }

  #path(name: string): string {
    return resolve(this.#folder, name).replaceAll('\\', '/');
  }
}

/**
 * A module as the body of a function with the parameters `require` and `exports`, compiled by itself with the settings of
 * this repository. Where the module awaits, the function has to be asynchronous.
 */
export function toFunctionBody(code: string): string {
  return ts.transpileModule(code, { compilerOptions: { ...OPTIONS, module: ts.ModuleKind.CommonJS } }).outputText;
}

/** Names of the modules that a module imports. */
export function importedBy(code: string): string[] {
  return ts.preProcessFile(code).importedFiles.map(({ fileName }) => fileName);
}

function readOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path)) as { config: unknown };
  const { options, errors } = ts.parseJsonConfigFileContent(
    config,
    ts.sys,
    process.cwd(),
    {},
    resolve('tsconfig.json'),
  );
  if (errors.length > 0) throw new Error(errors.map(({ messageText }) => JSON.stringify(messageText)).join('\n'));
  return options;
}
