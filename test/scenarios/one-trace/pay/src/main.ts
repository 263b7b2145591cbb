import { runToolService } from '@agentmesh/mesh';
import { pay } from '../../definitions.ts';

await runToolService(pay);
