import { runToolService } from '@agentmesh/mesh';
import { copyFile } from '../../definitions.ts';

await runToolService(copyFile);
