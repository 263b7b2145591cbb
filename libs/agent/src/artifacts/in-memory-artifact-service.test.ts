import { artifactServiceConformance } from '../conformance/artifacts/artifact-service.ts';
import { InMemoryArtifactService } from './in-memory-artifact-service.ts';

const dispose = async () => {};
artifactServiceConformance('memory', async () => ({ service: new InMemoryArtifactService(), dispose }));
