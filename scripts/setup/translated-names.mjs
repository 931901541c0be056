/** What the names of a script are called in JavaScript, which has words that Lua has not, and no second declaration in a block. */
export class TranslatedNames {
  /** From the outermost block to the innermost. */
  #scopes = [
    new Map([
      ['KEYS', 'KEYS'],
      ['ARGV', 'ARGV'],
    ]),
  ];
  /** How many temporary variables each of the functions around has. */
  #temporaries = [];
  #count = 0;

  /** Answers what a name is called that is declared here. */
  declare({ name }) {
    const own = `${name}$${this.number()}`;
    this.#scopes.at(-1).set(name, own);
    return own;
  }

  /** What a name is called here; `undefined` if nothing around declares it. */
  of(name) {
    return this.#scopes.findLast((scope) => scope.has(name))?.get(name);
  }

  /** A variable of the function around. */
  temporary() {
    return `$${this.#temporaries[this.#temporaries.length - 1]++}`;
  }

  /** One that no other name has. */
  number() {
    return ++this.#count;
  }

  /** Translates what has names of its own. */
  inScope(translate) {
    this.#scopes.push(new Map());
    const result = translate();
    this.#scopes.pop();
    return result;
  }

  /** Translates the body of a function, which begins with its temporary variables. */
  inFunction(translate) {
    this.#temporaries.push(0);
    const code = translate();
    const names = Array.from({ length: this.#temporaries.pop() }, (_, i) => `$${i}`);
    return names.length === 0 ? code : `let ${names.join(', ')};\n${code}`;
  }
}
