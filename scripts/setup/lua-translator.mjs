import luaparse from 'luaparse';

import { TranslatedNames } from './translated-names.mjs';

/** What scripts find without declaring it, as far as `lib/engines/embedded/lua` has it. */
export const GLOBALS = new Set(
  (
    'tonumber tostring ipairs pairs unpack select type error redis.call redis.pcall redis.error_reply ' +
    'string.format string.match string.find string.gmatch string.gsub string.sub string.byte string.rep ' +
    'table.concat table.insert table.sort math.huge math.floor math.ceil math.min math.max math.frexp'
  ).split(' '),
);

const COMPARISONS = new Set(['==', '~=', '<', '<=', '>', '>=']);
const ARITHMETIC = new Set(['+', '-', '*', '/', '%', '^']);
/** Operators that JavaScript has, too, and functions in place of the others. */
const SIGNS = { '==': '===', '~=': '!==', '..': '+', '^': '**', '+': '+', '-': '-', '*': '*', '/': '/' };
const CALLS = { '<': 'isLess', '>': 'isMore', '<=': 'isAtMost', '>=': 'isAtLeast', '%': 'remainder' };

/**
 * Translates a script of Redis to JavaScript, which `lib/engines/embedded` runs on data in memory. Numbers of Lua 5.1 are doubles, as
 * those of JavaScript are; a string has one character for each of its bytes. `docs/decisions/0101-one-engine.md` has the reasons.
 *
 * @param {string} source of which every byte is a character
 * @param {string} name for errors
 * @returns {string} an expression: a function that takes a `LuaRuntime`, and answers one that takes `KEYS` and `ARGV`
 * @throws {Error} if the script has something that is not translated, such as a global that it does not declare
 */
export function translate(source, name) {
  const { body } = luaparse.parse(source, {
    luaVersion: '5.1',
    encodingMode: 'pseudo-latin1',
    comments: false,
    locations: true,
    ranges: true,
  });
  return new Translator(name, source).script(body);
}

class Translator {
  #name;
  #source;
  #names = new TranslatedNames();

  constructor(name, source) {
    this.#name = name;
    this.#source = source;
  }

  script(body) {
    const code = this.#names.inFunction(() => this.#block(body));
    return `({ ${RUNTIME.join(', ')}, globals }) => (KEYS, ARGV) => {\n${code}\nreturn [];\n}`;
  }

  #refuse({ type, loc }, what = type) {
    throw new Error(`${this.#name}, line ${loc?.start.line}: ${what} is not translated`);
  }

  // ── statements ────────────────────────────────────────────────────────────────────────────────────────────────────

  #block(statements) {
    return this.#names.inScope(() => statements.map((one) => this.#statement(one)).join('\n'));
  }

  #statement(node) {
    switch (node.type) {
      case 'LocalStatement':
        return this.#localStatement(node);
      case 'AssignmentStatement':
        return this.#assignment(node);
      case 'CallStatement':
        return `${this.#call(node.expression)};`;
      case 'FunctionDeclaration':
        return this.#functionStatement(node);
      case 'ReturnStatement':
        return `return ${this.#list(node.arguments)};`;
      case 'IfStatement':
        return node.clauses.map((clause) => this.#clause(clause)).join(' else ');
      case 'WhileStatement':
        return `while (${this.#condition(node.condition)}) {\n${this.#block(node.body)}\n}`;
      case 'RepeatStatement':
        return this.#repeat(node);
      case 'DoStatement':
        return `{\n${this.#block(node.body)}\n}`;
      case 'BreakStatement':
        return 'break;';
      case 'ForNumericStatement':
        return this.#numericFor(node);
      case 'ForGenericStatement':
        return this.#genericFor(node);
      default:
        return this.#refuse(node);
    }
  }

  /** The values are found before the names are known. */
  #localStatement({ variables, init }) {
    if (init.length === 0) return `let ${variables.map((one) => this.#names.declare(one)).join(', ')};`;
    if (init.length === variables.length && (init.length === 1 || !this.#isMultiple(init.at(-1)))) {
      const values = init.map((one) => this.#expression(one));
      return `let ${variables.map((one, i) => `${this.#names.declare(one)} = ${values[i]}`).join(', ')};`;
    }
    const values = this.#list(init);
    return `let [${variables.map((one) => this.#names.declare(one)).join(', ')}] = ${values};`;
  }

  #assignment({ variables, init }) {
    if (variables.length === 1 && init.length === 1) {
      return this.#assign(variables[0], this.#expression(init[0]));
    }
    // Where they go is found before anything is written, and so are the values.
    const places = variables.map((one) => this.#place(one));
    const values = this.#names.temporary();
    const writes = places.map(({ write }, i) => write(`${values}[${i}]`));
    return [...places.map(({ before }) => before), `${values} = ${this.#list(init)};`, ...writes].join(' ');
  }

  #assign(target, value) {
    if (target.type === 'Identifier') return `${this.#ownName(target)} = ${value};`;
    return `${this.#expression(target.base)}.set(${this.#key(target)}, ${value});`;
  }

  #place(target) {
    if (target.type === 'Identifier') return { before: '', write: (value) => this.#assign(target, value) };
    const [table, key] = [this.#names.temporary(), this.#names.temporary()];
    return {
      before: `${table} = ${this.#expression(target.base)}; ${key} = ${this.#key(target)};`,
      write: (value) => `${table}.set(${key}, ${value});`,
    };
  }

  #ownName(node) {
    return this.#names.of(node.name) ?? this.#refuse(node, `the global '${node.name}'`);
  }

  /** A function knows its own name only if it is declared so. */
  #functionStatement(node) {
    const { identifier, isLocal } = node;
    if (!isLocal) return this.#assign(identifier, this.#functionValue(node));
    const name = this.#names.declare(identifier);
    return `let ${name} = ${this.#functionValue(node)};`;
  }

  #clause({ type, condition, body }) {
    const block = `{\n${this.#block(body)}\n}`;
    return type === 'ElseClause' ? block : `if (${this.#condition(condition)}) ${block}`;
  }

  /** The condition sees what the body declares. */
  #repeat({ body, condition }) {
    return this.#names.inScope(() => {
      const code = body.map((one) => this.#statement(one)).join('\n');
      return `for (;;) {\n${code}\nif (${this.#condition(condition)}) break;\n}`;
    });
  }

  #numericFor({ variable, start, end, step, body }) {
    const [from, till] = [this.#number(start), this.#number(end)];
    const by = step === null ? '1' : this.#number(step);
    const id = this.#names.number();
    const isBefore =
      step === null ? `at$${id} <= end$${id}` : `(by$${id} > 0 ? at$${id} <= end$${id} : at$${id} >= end$${id})`;
    return this.#names.inScope(() => {
      const name = this.#names.declare(variable);
      const head = `let at$${id} = ${from}, end$${id} = ${till}, by$${id} = ${by}; ${isBefore}; at$${id} += by$${id}`;
      return `for (${head}) {\nlet ${name} = at$${id};\n${this.#block(body)}\n}`;
    });
  }

  #genericFor({ variables, iterators, body }) {
    const given = this.#list(iterators);
    const id = this.#names.number();
    return this.#names.inScope(() => {
      const names = variables.map((one) => this.#names.declare(one));
      const head = `let [next$${id}, state$${id}, last$${id}] = ${given};;`;
      const step = `let [${names.join(', ')}] = next$${id}(state$${id}, last$${id});`;
      return `for (${head}) {\n${step}\nif (${names[0]} === undefined) break;\nlast$${id} = ${names[0]};\n${this.#block(body)}\n}`;
    });
  }

  // ── expressions ───────────────────────────────────────────────────────────────────────────────────────────────────

  #functionValue({ parameters, body }) {
    return this.#names.inScope(() => {
      const names = parameters.map((one) => (one.type === 'VarargLiteral' ? '...varargs' : this.#names.declare(one)));
      const code = this.#names.inFunction(() => this.#block(body));
      return `((${names.join(', ')}) => {\n${code}\nreturn [];\n})`;
    });
  }

  /** An array of all values. */
  #list(nodes) {
    const [first] = nodes;
    return nodes.length === 1 && this.#isMultiple(first) ? this.#values(first) : `[${this.#arguments(nodes)}]`;
  }

  /** @param opening where the parenthesis around them is, if they have one */
  #arguments(nodes, opening) {
    const last = nodes.length - 1;
    const all = nodes.map((one, i) =>
      i === last && this.#isMultiple(one, opening) ? `...${this.#values(one)}` : this.#expression(one),
    );
    return all.join(', ');
  }

  /** Whether it may have several values. In parentheses of its own it has one, which the parser does not tell. */
  #isMultiple({ type, range: [start] }, opening) {
    if (type !== 'CallExpression' && type !== 'VarargLiteral') return false;
    let before = start - 1;
    while (/\s/.test(this.#source[before] ?? '')) before--;
    return this.#source[before] !== '(' || before === opening;
  }

  /** All values of what may have several. */
  #values(node) {
    return node.type === 'VarargLiteral' ? 'varargs' : this.#call(node);
  }

  #call(node) {
    if (node.type !== 'CallExpression') return this.#refuse(node);
    if (node.base.indexer === ':') return this.#refuse(node, 'a method');
    const opening = this.#source.indexOf('(', node.base.range[1]);
    return `${this.#expression(node.base)}(${this.#arguments(node.arguments, opening)})`;
  }

  /** Where what Lua or Redis provides is found; `undefined` if it is the script's own. */
  #global(node) {
    const { base = node } = node;
    if (base.type !== 'Identifier' || this.#names.of(base.name) !== undefined) return undefined;
    const name = base === node ? node.name : `${base.name}.${node.identifier?.name}`;
    return GLOBALS.has(name) ? `globals.${name}` : this.#refuse(node, `the global '${name}'`);
  }

  /** A condition, of which only the truth counts. */
  #condition(node) {
    if (node.type === 'BinaryExpression' && COMPARISONS.has(node.operator)) return this.#expression(node);
    if (node.type === 'UnaryExpression' && node.operator === 'not') return `!${this.#condition(node.argument)}`;
    if (node.type === 'LogicalExpression') {
      const sign = node.operator === 'and' ? '&&' : '||';
      return `(${this.#condition(node.left)} ${sign} ${this.#condition(node.right)})`;
    }
    return `isTrue(${this.#expression(node)})`;
  }

  #number(node) {
    const isNumber =
      node.type === 'NumericLiteral' ||
      (node.type === 'BinaryExpression' && ARITHMETIC.has(node.operator)) ||
      (node.type === 'UnaryExpression' && node.operator !== 'not');
    return isNumber ? this.#expression(node) : `toNumber(${this.#expression(node)})`;
  }

  #text(node) {
    return node.type === 'StringLiteral' ? this.#expression(node) : `toText(${this.#expression(node)})`;
  }

  #key(node) {
    if (node.type === 'IndexExpression') return this.#expression(node.index);
    return node.type === 'MemberExpression' ? JSON.stringify(node.identifier.name) : this.#refuse(node);
  }

  #expression(node) {
    switch (node.type) {
      case 'NilLiteral':
        return 'undefined';
      case 'BooleanLiteral':
      case 'NumericLiteral':
        return String(node.value);
      case 'StringLiteral':
        return JSON.stringify(node.value);
      case 'VarargLiteral':
        return 'varargs[0]';
      case 'Identifier':
        return this.#global(node) ?? this.#ownName(node);
      case 'FunctionDeclaration':
        return this.#functionValue(node);
      case 'CallExpression':
        return `${this.#call(node)}[0]`;
      case 'MemberExpression':
      case 'IndexExpression':
        return this.#global(node) ?? `${this.#expression(node.base)}.get(${this.#key(node)})`;
      case 'TableConstructorExpression':
        return this.#tableValue(node);
      case 'UnaryExpression':
        return this.#unary(node);
      case 'LogicalExpression':
        return this.#logical(node);
      case 'BinaryExpression':
        return this.#binary(node);
      default:
        return this.#refuse(node);
    }
  }

  #tableValue({ fields }) {
    const listed = fields.filter(({ type }) => type === 'TableValue').map(({ value }) => value);
    const named = fields.filter(({ type }) => type !== 'TableValue');
    const entries = named.map(({ type, key, value }) => {
      const name = type === 'TableKeyString' ? JSON.stringify(key.name) : this.#expression(key);
      return `.with(${name}, ${this.#expression(value)})`;
    });
    return `new LuaTable(${listed.length === 0 ? '' : this.#list(listed)})${entries.join('')}`;
  }

  #unary(node) {
    if (node.operator === 'not') return `!${this.#condition(node.argument)}`;
    if (node.operator === '-') return `(-${this.#number(node.argument)})`;
    return node.operator === '#' ? `lengthOf(${this.#expression(node.argument)})` : this.#refuse(node);
  }

  #logical({ operator, left, right }) {
    const value = this.#names.temporary();
    const [first, second] = [this.#expression(left), this.#expression(right)];
    return operator === 'and'
      ? `(isTrue(${value} = ${first}) ? ${second} : ${value})`
      : `(isTrue(${value} = ${first}) ? ${value} : ${second})`;
  }

  #operand(operator, node) {
    if (COMPARISONS.has(operator)) return this.#expression(node);
    return operator === '..' ? this.#text(node) : this.#number(node);
  }

  #binary(node) {
    const { operator, left, right } = node;
    const [a, b] = [left, right].map((one) => this.#operand(operator, one));
    if (operator in SIGNS) return `(${a} ${SIGNS[operator]} ${b})`;
    return operator in CALLS ? `${CALLS[operator]}(${a}, ${b})` : this.#refuse(node, `the operator ${operator}`);
  }
}

/** What translated code uses of a `LuaRuntime`. */
const RUNTIME = [
  'LuaTable',
  'isTrue',
  'isLess',
  'isAtMost',
  'isMore',
  'isAtLeast',
  'toNumber',
  'toText',
  'lengthOf',
  'remainder',
];
