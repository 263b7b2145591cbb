import { runToolService } from '@agentmesh/mesh';
import { approvalTool } from './tool.ts';

await runToolService(approvalTool);
