import type {
  Content,
  FunctionDeclaration,
  FunctionResponse,
  GenerationConfig,
  SafetySetting,
} from '@google/genai';

/** A client's request to the model. */
export interface ModelRequest {
  model: string;
  contents: Content[];
  /** The text of the system instruction. */
  systemInstruction?: string;
  /** The function declarations of all tools. */
  tools: FunctionDeclaration[];
  generationConfig: GenerationConfig;
  safetySettings?: SafetySetting[];
  streaming: boolean;
  /** The number of this request at this server, from 1. */
  call: number;
}

/** A request that Gemini would refuse; the message is for the client. */
export class BadModelRequest extends Error {
  override readonly name = 'BadModelRequest';
}

interface RequestBody {
  contents?: unknown;
  systemInstruction?: Content;
  tools?: { functionDeclarations?: FunctionDeclaration[] }[];
  generationConfig?: GenerationConfig;
  safetySettings?: SafetySetting[];
}

/** Reads the JSON body of a request. @throws BadModelRequest */
export function readModelRequest(
  text: string,
  { model, streaming, call }: Pick<ModelRequest, 'model' | 'streaming' | 'call'>,
): ModelRequest {
  const body = readBody(text);
  const contents = readContents(body.contents);
  const instruction = body.systemInstruction?.parts?.map((part) => part.text ?? '').join('');
  return {
    model,
    contents,
    ...(instruction === undefined ? {} : { systemInstruction: instruction }),
    tools: (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []),
    generationConfig: body.generationConfig ?? {},
    ...(body.safetySettings && { safetySettings: body.safetySettings }),
    streaming,
    call,
  };
}

function readBody(text: string): RequestBody {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new BadModelRequest('Invalid JSON payload received.');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new BadModelRequest('Invalid JSON payload received. Root element must be a message.');
  }
  return body;
}

function readContents(contents: unknown): Content[] {
  if (!Array.isArray(contents) || contents.length === 0) {
    throw new BadModelRequest('* GenerateContentRequest.contents: contents is not specified');
  }
  contents.forEach((content: Content | null, at) => {
    if (!Array.isArray(content?.parts) || content.parts.length === 0) {
      throw new BadModelRequest(
        `* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`,
      );
    }
  });
  return contents as Content[];
}

/** Returns the user's latest text; '' when there is none. */
export function latestUserText(request: ModelRequest): string {
  const texts = request.contents
    .filter((content) => content.role !== 'model')
    .map((content) => content.parts?.map((part) => part.text ?? '').join('') ?? '');
  return texts.findLast((text) => text !== '') ?? '';
}

/**
 * Returns the function responses at the end of the request, in order; empty when it ends with other content.
 */
export function latestFunctionResponses(request: ModelRequest): FunctionResponse[] {
  const responsesByContent = request.contents.map(
    (content) => content.parts?.flatMap(({ functionResponse }) => functionResponse ?? []) ?? [],
  );
  const lastOther = responsesByContent.findLastIndex((responses) => responses.length === 0);
  return responsesByContent.slice(lastOther + 1).flat();
}
