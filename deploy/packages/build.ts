import { buildPackages } from './compile.ts';

await buildPackages();
