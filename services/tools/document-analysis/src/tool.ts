import { type Context, FunctionTool } from '@agentmesh/agent';
import { z } from 'zod';
import { analyse } from './analyse.ts';

/** The longest document that is read as a whole, in bytes. */
const maxBytes = 10_000_000;

export const documentAnalysisTool = new FunctionTool({
  name: 'process_document',
  description:
    'Analyses a document that the user has saved, with what is remembered of earlier talks, and saves the analysis.',
  parameters: z.object({
    documentName: z.string().min(1).describe('Name of the document, such as report.txt.'),
    analysisQuery: z.string().min(1).describe('What the user wants to know of it.'),
  }),
  usesMemory: true,
  usesArtifacts: true,
  async execute({ documentName, analysisQuery }, context?: Context) {
    const available = (await context?.listArtifacts()) ?? [];
    const about = await context?.getArtifactVersion(documentName);
    if (!context || !about) return { status: 'error', message: 'there is no such document', available };
    if (about.size > maxBytes) return { status: 'error', error: `it has over ${maxBytes} bytes` };
    const document = await context.loadArtifact(documentName, about.version);
    const bytes = Buffer.from(document?.inlineData?.data ?? '', 'base64');
    const text = document?.text ?? bytes.toString();
    const analysis = analyse(text, analysisQuery, await remembered(context, analysisQuery));
    const analysisArtifact = `analysis_${documentName}`;
    const of = { document: documentName, version: about.version };
    // A repetition of the call after a crash finds the version that it saved.
    const savedAnalysis = await context.getArtifactVersion(analysisArtifact);
    const version =
      savedAnalysis && savedAnalysis.customMetadata.call === context.functionCallId
        ? savedAnalysis.version
        : await context.saveArtifact(
            analysisArtifact,
            { text: analysis },
            { of, call: context.functionCallId },
          );
    context.actions.artifactDelta[analysisArtifact] = version;
    return { status: 'success', analysisArtifact, version };
  },
});

/** Returns memories of earlier talks that match the query; an empty list if the mesh keeps no memory. */
async function remembered(context: Context, query: string): Promise<string[]> {
  if (!context.services.memoryService) return [];
  const { memories } = await context.searchMemory(query);
  return memories.map(({ content }) => content.parts?.map((part) => part.text ?? '').join('') ?? '');
}
