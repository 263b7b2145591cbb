import { runToolService } from '@agentmesh/mesh';
import { writeLater } from '../../definitions.ts';

await runToolService(writeLater);
