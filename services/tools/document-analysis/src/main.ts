import { runToolService } from '@agentmesh/mesh';
import { documentAnalysisTool } from './tool.ts';

await runToolService(documentAnalysisTool);
