import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

function readSource(path: string): string {
  return readFileSync(path, 'utf8');
}

/** Paths of the files in a folder, not of those in its folders. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(folder, name));
}

/** Names of the classes that the files of a folder export, and those of its folders. */
export function classesIn(folder: string): string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  return paths.flatMap((path) =>
    Array.from(readSource(join(folder, path)).matchAll(/^export (?:abstract )?class (\w+)/gm), ([, name = '']) => name),
  );
}

/** Names that a file exports, values and types alike. */
export function exportsOf(path: string): string[] {
  const source = ts.createSourceFile(path, readSource(path), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement) && statement.exportClause && ts.isNamedExports(statement.exportClause)) {
      return statement.exportClause.elements.map(({ name }) => name.text);
    }
    if (
      !ts.canHaveModifiers(statement) ||
      !ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    ) {
      return [];
    }
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.map(({ name }) => name.getText(source));
    }
    const { name } = statement as ts.DeclarationStatement;
    return name ? [name.getText(source)] : [];
  });
}

/** Names of the variables, functions and classes that a module declares, exported or not. */
export function declaredIn(code: string): string[] {
  const source = ts.createSourceFile('module.ts', code, ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.flatMap(({ name }) => boundBy(name));
    }
    const isNamed = ts.isClassDeclaration(statement) || ts.isFunctionDeclaration(statement);
    return isNamed && statement.name ? [statement.name.text] : [];
  });
}

function boundBy(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundBy(element.name) : []));
}
