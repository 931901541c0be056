/** A document with tables that are made of public types. */
export interface ReferenceDocument {
  /** From the root folder. */
  readonly path: string;
  readonly is: string;
  readonly shouldBe: string;
}

export function referenceDocuments(): readonly ReferenceDocument[];
