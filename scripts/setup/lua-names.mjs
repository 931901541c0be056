import { GLOBALS } from './lua-translator.mjs';

/** What scripts find without declaring it: functions, and libraries. */
const FOUND = new Set(Array.from(GLOBALS, (name) => name.split('.')[0]));

/** Lua 5.1 takes 200 in a function; the rest is for what is yet to come. */
const MOST_LOCALS = 180;

/** LUAI_MAXUPVALUES of Lua 5.1. */
const MOST_UPVALUES = 60;

/** What Lua itself keeps of a loop beside its variables. */
const LOCALS_OF_LOOP = 3;

/** For what a call answers and nobody needs. */
const NOBODY = '_';

/** @throws {Error} that says where */
export function refuse(file, line, text) {
  throw new Error(`${file}, line ${line}: ${text}`);
}

/** Holds the names of a file to Lua's rules of scope: each is declared before it is used, and used once it is declared. */
export class NameChecker {
  /** How many locals of the file's own block are active at the same time. */
  most = 0;
  #file;
  #exported;
  /** From the outermost block to the innermost: what the names stand for. */
  #scopes = [new Map()];
  /** From the file to the innermost function: how many locals are active, and which of outer functions it uses. */
  #functions = [{ active: 0, upvalues: new Set() }];
  /** What is still to be done between statements, and whether this is a place for it: not within another loop or a function. */
  #steps = [];
  #takesSteps = true;

  /** @param {readonly { name: string }[]} exported what the file declares for others, and in one of their places */
  constructor(file, exported = []) {
    this.#file = file;
    this.#exported = new Set(exported.map(({ name }) => name));
  }

  /**
   * Declares a local.
   *
   * @param {{ name: string, line: number }} named
   * @param {{ counts?: boolean, isHidden?: boolean, isGlobal?: boolean, isLent?: boolean }} as counts: it takes one of the places of this
   *   function; isHidden: it is there, but not shown to this file; isGlobal: it is no local; isLent: it is another file's, which reads what
   *   is assigned to it here
   */
  declare({ name, line }, { counts = true, isHidden = false, isGlobal = false, isLent = false } = {}) {
    const scope = this.#scopes.at(-1);
    const isOutermost = this.#scopes.length === 1;
    if (isOutermost && scope.has(name) && name !== NOBODY) refuse(this.#file, line, `'${name}' is declared already`);
    const isExported = isOutermost && this.#exported.has(name);
    const depth = this.#functions.length - 1;
    scope.set(name, { name, line, depth, isUsed: false, isExported, isHidden, isGlobal, isLent });
    if (counts && !isExported && !isGlobal) this.#take(1, line);
  }

  /** Takes the places of so many locals. */
  #take(count, line) {
    const inner = this.#functions.at(-1);
    inner.active += count;
    if (inner.active > MOST_LOCALS) refuse(this.#file, line, `more than ${MOST_LOCALS} locals are active`);
    if (this.#functions.length === 1) this.most = Math.max(this.most, inner.active);
  }

  /** Takes them for as long as a block lasts that is not of this file. */
  takeBriefly(count, line) {
    this.#take(count, line);
    this.#functions.at(-1).active -= count;
  }

  /** What a name stands for. */
  find(name) {
    return this.#scopes.findLast((scope) => scope.has(name))?.get(name);
  }

  /** Shows what was hidden. */
  show(name) {
    this.find(name).isHidden = false;
  }

  /** Uses a name for another file. */
  require({ name, line }, file) {
    const found = this.find(name);
    if (!found || found.isHidden)
      refuse(file, line, `'${name}' is needed, and ${this.#file} has not declared it before`);
    found.isUsed = true;
  }

  /**
   * Checks the file's own block.
   *
   * @param {readonly { range: readonly [number, number], line: number, run: () => void }[]} steps what has to be done at a place between its
   *   statements, or those of an `if` or a `while`
   */
  check(body, steps = []) {
    this.#steps = [...steps];
    this.#visitStatements(body, Infinity);
    this.#assertUsed();
  }

  #visitStatements(statements, end) {
    for (const statement of statements) {
      this.#stepUntil(statement.range[0]);
      this.#visit(statement);
      const [step] = this.#steps;
      if (step?.range[0] < statement.range[1]) refuse(this.#file, step.line, 'a module is used within a statement');
    }
    this.#stepUntil(end);
  }

  #stepUntil(end) {
    while (this.#takesSteps && this.#steps[0]?.range[0] < end) this.#steps.shift().run();
  }

  // ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  #declareAll(nodes) {
    for (const node of nodes)
      if (node.type === 'Identifier') this.declare({ name: node.name, line: node.loc.start.line });
  }

  #refer({ name, loc }, isRead) {
    const found = this.find(name);
    if (!found || found.isHidden) {
      if (!found && isRead && FOUND.has(name)) return;
      refuse(this.#file, loc.start.line, `'${name}' is not declared`);
    }
    if (isRead || found.isLent) found.isUsed = true;
    if (found.isGlobal) return;
    for (const { upvalues, line } of this.#functions.slice(found.depth + 1)) {
      upvalues.add(found);
      if (upvalues.size > MOST_UPVALUES)
        refuse(this.#file, line, `the function uses more than ${MOST_UPVALUES} locals of others`);
    }
  }

  #inScope(work) {
    const inner = this.#functions.at(-1);
    const { active } = inner;
    this.#scopes.push(new Map());
    work();
    this.#assertUsed();
    this.#scopes.pop();
    inner.active = active;
  }

  #assertUsed() {
    for (const { name, line, isUsed, isExported, isHidden } of this.#scopes.at(-1).values()) {
      if (!isUsed && !isExported && !isHidden && name !== NOBODY) refuse(this.#file, line, `'${name}' is not used`);
    }
  }

  // ── the tree ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #visitAll(nodes) {
    for (const node of nodes) this.#visit(node);
  }

  #block(statements) {
    const tookSteps = this.#takesSteps;
    this.#takesSteps = false;
    this.#inScope(() => this.#visitAll(statements));
    this.#takesSteps = tookSteps;
  }

  #visit(node) {
    switch (node.type) {
      case 'Identifier':
        return this.#refer(node, true);
      case 'LocalStatement':
        this.#visitAll(node.init);
        return this.#declareAll(node.variables);
      case 'AssignmentStatement':
        this.#visitAll(node.init);
        return node.variables.forEach((one) => this.#visitTarget(one));
      case 'FunctionDeclaration':
        return this.#visitFunction(node);
      case 'IfStatement':
        return node.clauses.forEach((clause, i) => this.#visitClause(clause, clauseEnd(node, i)));
      case 'WhileStatement':
        return this.#visitClause(node, node.range[1]);
      case 'RepeatStatement':
        // The condition sees what the body declares.
        return this.#block([...node.body, node.condition]);
      case 'ForNumericStatement':
        return this.#visitLoop(node, [node.start, node.end, ...(node.step ? [node.step] : [])], [node.variable]);
      case 'ForGenericStatement':
        return this.#visitLoop(node, node.iterators, node.variables);
      case 'MemberExpression':
        return this.#visit(node.base);
      case 'TableKeyString':
        return this.#visit(node.value);
      default:
        return this.#visitParts(node);
    }
  }

  /** What has no names of its own, but in its parts. */
  #visitParts({ body, ...parts }) {
    for (const part of Object.values(parts)) {
      const nodes = Array.isArray(part) ? part : [part];
      for (const node of nodes) if (node?.type) this.#visit(node);
    }
    if (body) this.#block(body);
  }

  #visitTarget(node) {
    if (node.type === 'Identifier') this.#refer(node, false);
    else this.#visit(node);
  }

  #visitClause({ condition, body }, end) {
    if (condition) this.#visit(condition);
    this.#inScope(() => this.#visitStatements(body, end));
  }

  #visitFunction({ identifier, isLocal, parameters, body, loc }) {
    if (isLocal) this.#declareAll([identifier]);
    else if (identifier) this.#visitTarget(identifier);
    this.#functions.push({ active: 0, upvalues: new Set(), line: loc.start.line });
    this.#inScope(() => {
      this.#declareAll(parameters);
      this.#block(body);
    });
    this.#functions.pop();
  }

  #visitLoop({ body, loc }, given, variables) {
    this.#visitAll(given);
    this.#inScope(() => {
      this.#take(LOCALS_OF_LOOP, loc.start.line);
      this.#declareAll(variables);
      this.#block(body);
    });
  }
}

/** Where the clause of an `if` ends. */
function clauseEnd({ clauses, range }, i) {
  return clauses[i + 1]?.range[0] ?? range[1];
}
