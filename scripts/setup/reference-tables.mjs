import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import ts from 'typescript';

import { PublicTypes, tsdocOf } from './public-types.mjs';
import { ROOT } from './run.mjs';

/** Stands above a table that is made of a public type: of all its members, or of those in parentheses. */
const MARK = /^<!-- made: (\w+)(?: \((.+)\))? -->$/;

/** The documents with tables that are made: as they are, and as they should be. */
export function referenceDocuments() {
  const documents = readdirSync(join(ROOT, 'docs'), { recursive: true })
    .filter((path) => path.endsWith('.md'))
    .map((path) => new Document(join('docs', path)));
  const reference = new Reference(documents);
  const made = documents.filter(({ tables }) => tables.length > 0);
  reference.assertWhole(made);
  return made.map((document) => ({
    path: document.path,
    is: document.lines.join('\n'),
    shouldBe: document.with((table) => reference.rowsOf(table, document)),
  }));
}

class Document {
  path;
  lines;
  tables;

  constructor(path) {
    this.path = path;
    this.lines = readFileSync(join(ROOT, path), 'utf8').split('\n');
    this.tables = this.lines.flatMap((line, i) => {
      const [, type, members] = MARK.exec(line) ?? [];
      if (type === undefined) return [];
      const columns = (this.lines[i + 2] ?? '').split('|').slice(1, -1);
      return [{ type, members: members?.split(', '), columns: columns.map((column) => column.trim()), head: i + 2 }];
    });
  }

  /** @param rowsOf the cells of a table below its head, which people write */
  with(rowsOf) {
    const lines = [...this.lines];
    for (const table of this.tables.toReversed()) {
      const end = lines.findIndex((line, i) => i > table.head && !line.startsWith('|'));
      lines.splice(table.head, end - table.head, ...aligned([table.columns, ...rowsOf(table)]));
    }
    return lines.join('\n');
  }

  /** The heading that something stands under. */
  headingAbove(index) {
    return this.lines.slice(0, index).findLast((line) => line.startsWith('#'));
  }

  /** The heading that a link leads to; that of the document, if it leads to all of it. */
  headingAt(anchor) {
    const headings = this.lines.filter((line) => line.startsWith('#'));
    const found = anchor === undefined ? headings[0] : headings.find((heading) => anchorOf(heading) === anchor);
    if (!found) throw new Error(`${this.path} has no heading '${anchor}'.`);
    return found.replace(/^#+ /, '');
  }
}

class Reference {
  #types = new PublicTypes();
  #documents;
  /** Where the table of a type is. */
  #places;

  constructor(documents) {
    this.#documents = new Map(documents.map((document) => [document.path, document]));
    this.#places = new Map(
      documents.flatMap((document) =>
        document.tables.map(({ type, head }) => [type, `${document.path}#${anchorOf(document.headingAbove(head))}`]),
      ),
    );
  }

  /** What stands in several tables may miss nothing. */
  assertWhole(documents) {
    const tables = documents.flatMap((document) => document.tables).filter(({ members }) => members);
    for (const type of new Set(tables.map((table) => table.type))) {
      const told = tables.flatMap((table) => (table.type === type ? table.members : []));
      const untold = this.#membersOf(type).filter(({ name }) => !told.includes(name));
      if (untold.length > 0) fail(`No table of ${type} has ${untold.map(({ name }) => name).join()}.`);
    }
  }

  rowsOf({ type, members, columns }, document) {
    const all = this.#membersOf(type);
    const chosen = members?.map((name) => {
      const found = all.find((member) => member.name === name);
      return found ?? fail(`${type} has no member ${name}.`);
    });
    return (chosen ?? all).map((member) =>
      columns.map(
        (column, i) => this.#cell(i === 0 ? 'name' : column, member, document) ?? missing(type, member, column),
      ),
    );
  }

  #cell(column, { title, text, fallback, see, node, code }, document) {
    if (column === 'name') return `\`${title}\``;
    if (column === 'type') return this.#shownType(node.type, document);
    if (column === 'default') return fallback;
    if (column === 'code') return code;
    if (column === 'fields') return this.#fieldsOf(node);
    const links = see.map((target) => this.#link(target, document));
    if (!text) return undefined;
    return [text, ...(links.length > 0 ? [`See ${links.join(' and ')}.`] : [])].join(' ');
  }

  #link(target, from) {
    const [path, anchor] = target.split('#');
    const document = this.#documents.get(path) ?? fail(`There is no document ${path}.`);
    return `[${document.headingAt(anchor)}](${addressOf(target, from)})`;
  }

  #membersOf(type) {
    if (type === 'errors') return this.#errors();
    const symbol = this.#types.exported(type);
    const values = this.#valuesOf(symbol.declarations[0]);
    if (values) return values.map(valueOf);
    return this.#types.checker
      .getDeclaredTypeOfSymbol(symbol)
      .getProperties()
      .filter(isPublic)
      .map((member) => memberOf(member));
  }

  /** The values of a type that is one of several, or of a list; `undefined` if it is none. */
  #valuesOf({ type, initializer }) {
    if (initializer) return initializer.expression.elements;
    if (type === undefined) return undefined;
    if (ts.isUnionTypeNode(type)) return type.types;
    const list = this.#types.declared(this.#types.checker.getSymbolAtLocation(type.objectType.type.exprName));
    return this.#valuesOf(list.declarations[0]);
  }

  /** Those of the main entry. */
  #errors() {
    return Array.from(this.#types.exportsOf('lib/index.ts').values())
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .filter((symbol) => symbol.flags & ts.SymbolFlags.Class && symbol.name.endsWith('Error'))
      .map((symbol) => {
        const member = memberOf(symbol);
        const property = this.#types.checker.getDeclaredTypeOfSymbol(symbol).getProperty('code');
        const { types: union, ...one } = this.#types.checker.getTypeOfSymbol(property);
        const codes = (union ?? [one]).flatMap(({ value }) => value ?? []);
        // The compiler lists them in any order.
        return {
          ...member,
          code: codes
            .toSorted()
            .map((code) => `\`${code}\``)
            .join(', '),
        };
      });
  }

  /** A type as it is written, the parts of a union apart. One with a table of its own leads there. */
  #shownType(node, document) {
    const parts = (ts.isUnionTypeNode(node) ? node.types : [node]).map((part) => {
      const place = this.#places.get(part.getText());
      const code = `\`${this.#written(part)}\``;
      return place === undefined ? code : `[${code}](${addressOf(place, document)})`;
    });
    return [parts.slice(0, -1).join(', '), parts.at(-1)].filter((part) => part !== '').join(' or ');
  }

  /** A small object of options with what is in it. */
  #written(node) {
    const text = node
      .getText()
      .replaceAll(/\breadonly /g, '')
      .replaceAll(/\s+/g, ' ')
      .replaceAll('; }', ' }');
    if (!ts.isTypeReferenceNode(node) || node.typeArguments || this.#places.has(text)) return text;
    const [declaration] = this.#types.declared(this.#types.checker.getSymbolAtLocation(node.typeName)).declarations;
    if (!ts.isInterfaceDeclaration(declaration) || !isOfLibrary(declaration)) return text;
    if (!declaration.members.every((member) => ts.isPropertySignature(member))) return text;
    const members = declaration.members.map((member) => {
      const [name] = member
        .getText()
        .replace(/^readonly /, '')
        .split(/:/);
      return `${name}: ${this.#written(member.type)}`;
    });
    return `{ ${members.join('; ')} }`;
  }

  /** What an event has in it, or an error beside what every error has. */
  #fieldsOf(node) {
    const properties = this.#types.checker.getTypeAtLocation(node.type ?? node).getProperties();
    const own = node.type
      ? properties
      : properties.filter((property) => isPublic(property) && !isOfEveryError(property));
    return own.map(({ name }) => `\`${name}\``).join(', ');
  }
}

function memberOf(symbol) {
  const docs = symbol.declarations.filter((node) => !node.body || symbol.declarations.length === 1).map(tsdocOf);
  const [node] = symbol.declarations;
  const isMethod = node.parameters !== undefined;
  const summaries = docs.flatMap(({ paragraphs: [summary = ''] }) => summary);
  const [fallback] = docs.flatMap(({ tag }) => tag('defaultValue'));
  return {
    name: symbol.name,
    title: isMethod ? `${symbol.name}(${node.parameters.map(parameter).join(', ')})` : symbol.name,
    text: summaries.join(' '),
    fallback: fallback?.replace(/^('[^']*'|\d+|true|false)$/, '`$1`'),
    see: docs.flatMap(({ see }) => see),
    node,
  };
}

function parameter({ name, questionToken, initializer }) {
  return `${ts.isIdentifier(name) ? name.text : 'options'}${questionToken || initializer ? '?' : ''}`;
}

function isPublic({ name, declarations }) {
  return (
    !name.startsWith('__#') &&
    declarations.every((node) => !ts.isPrivateIdentifier(node.name ?? node) && !isInternal(node))
  );
}

function isInternal(node) {
  return ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal');
}

function isOfEveryError({ name, declarations: [node] }) {
  return ['code', 'cause'].includes(name) || !isOfLibrary(node);
}

function isOfLibrary(node) {
  return node.getSourceFile().fileName.startsWith(join(ROOT, 'lib'));
}

function valueOf(node) {
  const title = node.getText();
  return { name: title.slice(1, -1), title, text: commentAbove(node), see: [], node };
}

/** What stands above one of several values. */
function commentAbove(node) {
  const before = node.getSourceFile().text.slice(0, node.getStart());
  const [, comment = ''] = /\/\*\*((?:(?!\*\/)[^])*)\*\/[\s|]*$/.exec(before) ?? [];
  return comment.replaceAll(/\s*\n\s*\*? ?/g, ' ').trim();
}

function addressOf(target, from) {
  const [path, anchor] = target.split('#');
  const way = path === from.path ? '' : relative(dirname(from.path), path);
  return anchor === undefined ? way : `${way}#${anchor}`;
}

/** As GitHub makes it. */
function anchorOf(heading) {
  return heading
    .replace(/^#+ /, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

/** A table as the formatter has it. */
function aligned(rows) {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = cells[0].map((_, i) => Math.max(3, ...cells.map((row) => row[i].length)));
  const [head, ...body] = cells.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`);
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body];
}

function missing(type, { name }, column) {
  return fail(`TSDoc of ${type}.${name} says nothing for the column '${column}'.`);
}

function fail(text) {
  throw new Error(text);
}
