let mounts = 0;

/**
 * A provider that is in no other mount: an application may have Nest tell modules apart by what is in them (`deep-hash`), which takes two
 * mounts of the same connection for one.
 */
export function ownMount(): { readonly provide: symbol; readonly useValue: number } {
  return { provide: Symbol.for('nestjs-delay-queue:mount'), useValue: ++mounts };
}
