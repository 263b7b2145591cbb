import { InMemoryArtifactService } from './artifacts/in-memory-artifact-service.ts';
import { artifactServiceConformance } from './conformance/artifact-service.ts';
import { memoryServiceConformance } from './conformance/memory-service.ts';
import { InMemoryMemoryService } from './memory/in-memory-memory-service.ts';

const dispose = async () => {};
artifactServiceConformance('memory', async () => ({ service: new InMemoryArtifactService(), dispose }));
memoryServiceConformance('memory', async () => ({ service: new InMemoryMemoryService(), dispose }));
