import { resolve } from 'node:path';
import ts from 'typescript';

const LIB = resolve(import.meta.dirname, '../../../lib');

/**
 * The types of the library that its public declarations name, but no entry exports: an application that returns one from a
 * function of its own cannot be compiled with `declaration: true`. Members that are private or `@internal` do not count, nor
 * what a class extends or implements and the operand of a `keyof`: nothing that is inferred is called by these names.
 *
 * @param entries files in `lib`, such as `index.ts`
 * @returns such as `CancelResult, named by DelayQueueProducer.cancel`
 */
export function unexportedTypes(entries: readonly string[]): string[] {
  const program = declarationsOf(entries.map((entry) => resolve(LIB, entry)));
  const checker = program.getTypeChecker();
  const files = entries.map((entry) => program.getSourceFile(declarationName(resolve(LIB, entry))));
  const exported = new Set(
    files.flatMap((file) => {
      const module = file && checker.getSymbolAtLocation(file);
      return module ? checker.getExportsOfModule(module).map((symbol) => resolved(symbol, checker)) : [];
    }),
  );
  const found = new Set<string>();
  for (const symbol of exported) {
    for (const declaration of symbol.declarations ?? []) {
      visit(declaration, symbol.name);
    }
  }
  return [...found].toSorted();

  function visit(node: ts.Node, owner: string): void {
    if (isHidden(node)) return;
    const name = nameOfReference(node);
    const symbol = name && checker.getSymbolAtLocation(name);
    if (symbol) judge(resolved(symbol, checker), owner);
    const member = ts.isClassElement(node) || ts.isTypeElement(node) ? node.name?.getText() : undefined;
    ts.forEachChild(node, (child) => visit(child, member === undefined ? owner : `${owner}.${member}`));
  }

  function judge(symbol: ts.Symbol, owner: string): void {
    const isOurs = symbol.declarations?.some((declaration) => declaration.getSourceFile().fileName.startsWith(LIB));
    const isLocal = symbol.flags & ts.SymbolFlags.TypeParameter;
    if (isOurs && !isLocal && !exported.has(symbol)) found.add(`${symbol.name}, named by ${owner}`);
  }
}

/** What the compiler makes of the sources for those who use them, without files. */
function declarationsOf(entries: readonly string[]): ts.Program {
  const { config } = ts.readConfigFile(resolve(LIB, '../tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: object;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, resolve(LIB, '..'));
  const emitting = {
    ...options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    outDir: LIB,
    rootDir: LIB,
  };
  const files = readingOnce(ts.createCompilerHost(emitting));
  const declarations = new Map<string, string>();
  ts.createProgram(entries, emitting, files).emit(undefined, (file, text) => declarations.set(file, text));
  const host: ts.CompilerHost = {
    ...files,
    fileExists: (file) => declarations.has(file) || (!isSource(file) && files.fileExists(file)),
    readFile: (file) => declarations.get(file) ?? files.readFile(file),
    getSourceFile: (file, version, ...rest) => {
      const text = declarations.get(file);
      return text === undefined
        ? files.getSourceFile(file, version, ...rest)
        : ts.createSourceFile(file, text, version, true);
    },
  };
  return ts.createProgram(entries.map(declarationName), options, host);
}

/** Both programs have the same dependencies, and these are most of what there is to read. */
function readingOnce(host: ts.CompilerHost): ts.CompilerHost {
  const read = new Map<string, ts.SourceFile | undefined>();
  return {
    ...host,
    getSourceFile: (file, ...rest) => {
      if (!read.has(file)) read.set(file, host.getSourceFile(file, ...rest));
      return read.get(file);
    },
  };
}

/** In the place of which its declarations are to be read. */
function isSource(file: string): boolean {
  return file.startsWith(LIB) && file.endsWith('.ts') && !file.endsWith('.d.ts');
}

function declarationName(source: string): string {
  return source.replace(/\.ts$/, '.d.ts');
}

function resolved(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function isHidden(node: ts.Node): boolean {
  if (ts.isTypeOperatorNode(node) && node.operator === ts.SyntaxKind.KeyOfKeyword) return true;
  if (ts.isHeritageClause(node) && ts.isClassDeclaration(node.parent)) return true;
  const isPrivate =
    ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);
  return isPrivate === true || ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal');
}

/** What stands for a type, if the node names one. */
function nameOfReference(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  if (ts.isTypeQueryNode(node)) return node.exprName;
  if (ts.isExpressionWithTypeArguments(node)) return node.expression;
  return ts.isImportTypeNode(node) ? node.qualifier : undefined;
}
