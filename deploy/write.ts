import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles } from './generated.ts';
import { assertDistinct, samples } from './local/samples.ts';

// Writes the generated files. Run `node deploy/write.ts` or `npm run generate` after you add, remove or
// change a service.
assertDistinct(samples);
for (const [file, text] of generatedFiles()) writeFileSync(join(import.meta.dirname, file), text);
