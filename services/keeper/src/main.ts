import { runKeeper } from './service.ts';

await runKeeper();
