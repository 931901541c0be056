import * as fc from 'fast-check';

// As `SeededRandom` does.
fc.configureGlobal({ seed: Number(process.env['SEED']) });
