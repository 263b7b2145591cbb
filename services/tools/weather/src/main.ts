import { runToolService } from '@agentmesh/mesh';
import { weatherTool } from './tool.ts';

await runToolService(weatherTool);
