import { runToolService } from '@agentmesh/mesh';
import { fileProcessingTool } from './tool.ts';

await runToolService(fileProcessingTool);
