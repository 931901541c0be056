import { readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import ts from 'typescript';

/** A property of a type, or an element of a list. */
export interface Member {
  readonly name: string;
  /** What its TSDoc says after `@defaultValue`. */
  readonly defaultValue?: string | undefined;
}

/** A text that the library may write: its fixed parts, with something else between each two of them. */
export interface WrittenText {
  readonly parts: readonly string[];
  /** Level of the log, if it is known. */
  readonly level?: string | undefined;
}

/** What the package is made of. */
const FOLDERS = ['lib', 'tools'];

/** Paths of the library's files, from the root folder. */
const FILES = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
);
const SCRIPTS = FILES.filter((path) => path.endsWith('.lua'));

const LEVELS = ['debug', 'error', 'log', 'warn'];

/**
 * What the sources of the library say, as the compiler reads them. Declarations are found by their names, so it does not
 * matter in which file they are.
 */
export class Library {
  readonly #checker: ts.TypeChecker;
  readonly #sources: readonly ts.SourceFile[];

  constructor() {
    const options: ts.CompilerOptions = {
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      strict: true,
      lib: ['lib.es2023.d.ts'],
      types: [],
    };
    const program = ts.createProgram(
      FILES.filter((path) => basename(path) === 'index.ts'),
      options,
    );
    const folders = FOLDERS.map((folder) => resolve(folder));
    this.#checker = program.getTypeChecker();
    this.#sources = program
      .getSourceFiles()
      .filter(({ fileName }) => folders.some((folder) => resolve(fileName).startsWith(folder)));
  }

  /** The public properties and methods of an interface or a class, inherited ones too. */
  members(type: string): Member[] {
    return this.#typeOf(type, hasMembers)
      .getProperties()
      .filter(isPublic)
      .map((symbol) => this.#member(symbol));
  }

  /** The strings that a type alias or a constant list consists of. */
  strings(name: string): string[] {
    const type = this.#typeOf(name, (node) => !hasMembers(node));
    const elements = this.#checker.isTupleType(type)
      ? this.#checker.getTypeArguments(type as ts.TypeReference)
      : [type];
    return elements.flatMap(stringsOf);
  }

  /** The constants of strings in the module that declares one of them, by their names. */
  constantsBeside(name: string): ReadonlyMap<string, string> {
    const source = this.#declarationOf(name, ts.isVariableDeclaration).getSourceFile();
    const exported = this.#checker.getExportsOfModule(this.#symbolOf(source));
    return new Map(exported.map((symbol) => [symbol.name, stringsOf(this.#checker.getTypeOfSymbol(symbol))[0] ?? '']));
  }

  /** All texts of the library, those of log lines with their levels. */
  texts(): WrittenText[] {
    const texts: WrittenText[] = [];
    const visit = (node: ts.Node): void => {
      const parts = ts.isExpression(node) ? partsOf(node) : undefined;
      if (parts) texts.push({ parts, level: levelOf(node) });
      else ts.forEachChild(node, visit);
    };
    for (const source of this.#sources) visit(source);
    return texts;
  }

  #member(symbol: ts.Symbol): Member {
    const comments = (symbol.declarations ?? []).flatMap((declaration) => ts.getJSDocCommentsAndTags(declaration));
    const text = comments.map((comment) => comment.getText().replaceAll(/\s*\n\s*\*?\s*|\/$/g, ' ')).join(' ');
    const [, defaultValue] = /@defaultValue (.+?)(?= @\w| *\*? *$)/.exec(text) ?? [];
    return { name: symbol.name, defaultValue };
  }

  #typeOf(name: string, isKind: (node: ts.Node) => boolean): ts.Type {
    const declaration = this.#declarationOf(name, isKind);
    const symbol = this.#symbolOf(declaration);
    const isValue = ts.isVariableDeclaration(declaration);
    return isValue ? this.#checker.getTypeOfSymbol(symbol) : this.#checker.getDeclaredTypeOfSymbol(symbol);
  }

  #symbolOf(node: ts.Node): ts.Symbol {
    const symbol = this.#checker.getSymbolAtLocation((node as ts.NamedDeclaration).name ?? node);
    if (!symbol) throw new Error(`${node.getText()} has no symbol.`);
    return symbol;
  }

  #declarationOf(name: string, isKind: (node: ts.Node) => boolean): ts.NamedDeclaration {
    const all = this.#sources.flatMap((source) =>
      declarationsIn(source).filter((node) => nameOf(node) === name && isKind(node)),
    );
    const exported = all.filter(
      (node) => ts.getCombinedModifierFlags(node as ts.Declaration) & ts.ModifierFlags.Export,
    );
    const found = exported.length > 0 ? exported : all;
    const [declaration] = found;
    if (!declaration || found.length > 1) throw new Error(`${found.length} declarations in lib are called ${name}.`);
    return declaration;
  }
}

function isPublic({ declarations = [] }: ts.Symbol): boolean {
  return declarations.every((declaration) => {
    const { name } = declaration as ts.NamedDeclaration;
    const isInternal = ts.getJSDocTags(declaration).some(({ tagName }) => tagName.text === 'internal');
    return !isInternal && !(name && ts.isPrivateIdentifier(name));
  });
}

function hasMembers(node: ts.Node): boolean {
  return ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node);
}

function declarationsIn(source: ts.SourceFile): ts.NamedDeclaration[] {
  return source.statements.flatMap((statement): readonly ts.NamedDeclaration[] => {
    if (ts.isVariableStatement(statement)) return statement.declarationList.declarations;
    const isNamed =
      ts.isInterfaceDeclaration(statement) || ts.isClassDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
    return isNamed ? [statement] : [];
  });
}

function nameOf({ name }: ts.NamedDeclaration): string | undefined {
  return name && ts.isIdentifier(name) ? name.text : undefined;
}

function stringsOf(type: ts.Type): string[] {
  const types = type.isUnion() ? type.types : [type];
  return types.flatMap((part) => (part.isStringLiteral() ? [part.value] : []));
}

/** The fixed parts of a text; `undefined` if an expression is none. */
function partsOf(node: ts.Expression): string[] | undefined {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node)) return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const [left, right] = [partsOf(node.left), partsOf(node.right)];
  if (!left || !right) return undefined;
  return [...left.slice(0, -1), (left.at(-1) ?? '') + (right[0] ?? ''), ...right.slice(1)];
}

/** The level of the log that a text is written to as it is. */
function levelOf({ parent }: ts.Node): string | undefined {
  if (!ts.isCallExpression(parent) || !ts.isPropertyAccessExpression(parent.expression)) return undefined;
  const { expression, name } = parent.expression;
  return LEVELS.includes(name.text) && /\blog$/i.test(expression.getText()) ? name.text : undefined;
}

/** Names of the Lua scripts, without the modules that they use. */
export function scriptNames(): string[] {
  const whole = SCRIPTS.filter((path) => basename(dirname(path)) !== 'modules');
  return whole.map((path) => basename(path, '.lua'));
}

/** The Redis commands that the scripts call. */
export function scriptCommands(): Set<string> {
  const sources = SCRIPTS.map((path) => readFileSync(path, 'utf8'));
  const calls = sources.flatMap((source) => [...source.matchAll(/redis\.call\('([A-Z]+)'/g)]);
  return new Set(calls.map(([, command = '']) => command));
}
