import { refuse } from './lua-names.mjs';

/**
 * A module as a block of a script, without the functions that nobody there uses.
 *
 * @param module as `parseModule` answers it
 * @param isShared whether others use what it exports
 * @param {string} [condition] the local that says whether what the module declares is needed. @defaultValue it is in any case
 */
export function blockOf(module, isShared, condition) {
  const exported = new Map(module.exports.map((each) => [each.name, each]));
  const isSpare = (local) => local !== undefined && !local.isUsed && !isShared(local);
  const spare = module.body.filter((one) => isLocalFunction(one) && isSpare(exported.get(one.identifier.name)));
  const cuts = module.body.map((one) => [spare.includes(one) ? one.range : declarationIn(one, module), '']);
  for (const { identifier } of spare) exported.delete(identifier.name);
  const shared = [...exported.values()].filter(isShared);
  const own = [...exported.values()].filter((local) => !isShared(local));
  return `${declarationOf(shared)}${condition ? `if ${condition} then` : 'do'}\n${declarationOf(own)}${textWith(module, cuts)}end\n`;
}

function isLocalFunction({ type, isLocal }) {
  return type === 'FunctionDeclaration' && isLocal;
}

function declarationOf(named) {
  return named.length === 0 ? '' : `local ${named.map(({ name }) => name).join(', ')}\n`;
}

/** What has to go of a statement that declares what its module exports, since that is declared before. */
function declarationIn(statement, { file, text, exports }) {
  const { type, variables, init, loc } = statement;
  const [start, end] = statement.range;
  const locals = type === 'LocalStatement' ? variables : isLocalFunction(statement) ? [statement.identifier] : [];
  const exported = locals.filter(({ name }) => exports.some((one) => one.name === name));
  if (exported.length === 0) return [start, start];
  if (exported.length < locals.length) {
    refuse(file, loc.start.line, `'${exported[0].name}' is exported, and declared together with what is not`);
  }
  const [word] = /^local\s+/.exec(text.slice(start));
  return [start, init?.length === 0 ? end : start + word.length];
}

/**
 * The text of a file without its comments and empty lines.
 *
 * @param replacements other text for some ranges
 */
export function textWith({ text, comments }, replacements) {
  let result = '';
  let from = 0;
  const replaced = new Map(comments.map(({ range }) => [range, '']));
  for (const [range, other] of replacements) replaced.set(range, other);
  for (const [[start, end], other] of [...replaced].toSorted(([a], [b]) => a[0] - b[0])) {
    // A comment within what goes.
    if (start < from) continue;
    result += text.slice(from, start) + other;
    from = end;
  }
  return (result + text.slice(from)).replaceAll(/[ \t]+$/gm, '').replaceAll(/^\n/gm, '');
}
