import { isCredentialQuestion, questionNames } from '@agentmesh/agent/internal';
import {
  credentialKeysVariable,
  MeshError,
  messageSchema,
  parse,
  type SecretBox,
  type SecretUse,
  type SessionRef,
} from '@agentmesh/protocol';
import type { Content, FunctionResponse } from '@google/genai';
import { answerPlace } from '../keeper/answer-place.ts';
import type { Mesh } from '../mesh/mesh.ts';

type Sealer = Pick<Mesh, 'box'>;

/**
 * Seals the credentials in a message, each for its question: queues and waiting runs keep messages and must
 * not show credentials. Sealed credentials stay as they are.
 *
 * @throws MeshError `failed_precondition` if this process has no box, and as the box
 */
export async function sealAnswers<M>(mesh: Sealer, ref: SessionRef, message: M): Promise<M | Content> {
  const content: Content = parse(messageSchema, message, 'the message');
  if (!content.parts?.some(({ functionResponse }) => isPlainAnswer(functionResponse))) return message;
  const box = boxOf(mesh);
  return await mapResponses(content, async (response) => {
    if (!isPlainAnswer(response)) return response;
    const sealed = await box.seal(JSON.stringify(response.response), ...placeOf(ref, response));
    return { ...response, response: { sealed } };
  });
}

/**
 * Opens the credentials that {@link sealAnswers} sealed.
 *
 * @param isWanted tells which answers are opened; the others stay as they are. Default: all
 * @throws MeshError `failed_precondition` without the key; `permission_denied` for a credential that was
 * sealed for another session, user or question, and from a keeper for a question of another agent
 */
export async function openAnswers(
  mesh: Sealer,
  ref: SessionRef,
  message: Content,
  isWanted: (response: FunctionResponse) => boolean = () => true,
): Promise<Content> {
  return await mapResponses(message, async (response) => {
    const sealed = sealedText(response);
    if (sealed === undefined || !isWanted(response)) return response;
    return { ...response, response: JSON.parse(await boxOf(mesh).open(sealed, ...placeOf(ref, response))) };
  });
}

async function mapResponses(
  content: Content,
  map: (response: FunctionResponse) => Promise<FunctionResponse>,
): Promise<Content> {
  if (!content.parts) return { ...content };
  const parts = await Promise.all(
    content.parts.map(async (part) =>
      part.functionResponse ? { ...part, functionResponse: await map(part.functionResponse) } : part,
    ),
  );
  return { ...content, parts };
}

/**
 * Tells whether a response holds a credential in plain text. Clients choose the name of a response, so the id
 * of the question and the form of the answer decide too.
 */
function isPlainAnswer(answer: FunctionResponse | undefined): answer is FunctionResponse {
  if (!answer?.response || sealedText(answer) !== undefined) return false;
  const { name, id, response } = answer;
  return (
    name === questionNames.credential || isCredentialQuestion(id) || 'exchangedAuthCredential' in response
  );
}

function sealedText({ response }: FunctionResponse): string | undefined {
  const { sealed, ...others } = response ?? {};
  return typeof sealed === 'string' && Object.keys(others).length === 0 ? sealed : undefined;
}

function placeOf(ref: SessionRef, { id = '' }: FunctionResponse): [place: string, use: SecretUse] {
  const { appName: app, userId: user, sessionId: session } = ref;
  return [answerPlace(ref, id), { kind: 'answer', app, user, session, question: id }];
}

function boxOf({ box }: Sealer): SecretBox {
  if (box) return box;
  throw new MeshError(
    'failed_precondition',
    `the message holds a credential, and this process has nothing to seal it with: connect it with connectMesh, and set ${credentialKeysVariable} at a keeper, or in all processes of a mesh without keepers`,
  );
}
