import { runToolService } from '@agentmesh/mesh';
import { notebook } from '../../definitions.ts';

await runToolService(notebook);
