/** An element, or text. */
export type SvgNode = SvgElement | string;

interface SvgElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly children: readonly SvgNode[];
}

export function svg(name: string, attributes: SvgElement['attributes'], ...children: SvgNode[]): SvgElement {
  return { name, attributes, children };
}

/** The text of an SVG file. */
export function toSvg(root: SvgElement): string {
  return `${encode(root, '')}\n`;
}

function encode(node: SvgNode, indent: string): string {
  if (typeof node === 'string') return escapeText(node);
  const attributes = Object.entries(node.attributes).map(([name, value]) => ` ${name}="${escapeText(String(value))}"`);
  const open = `${indent}<${node.name}${attributes.join('')}`;
  const { children } = node;
  if (children.length === 0) return `${open}/>`;
  // White space around text would be part of it.
  if (children.some((child) => typeof child === 'string')) {
    return `${open}>${children.map((child) => encode(child, '')).join('')}</${node.name}>`;
  }
  return `${open}>\n${children.map((child) => encode(child, `${indent}  `)).join('\n')}\n${indent}</${node.name}>`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
