import { exportUserData, type UserRecord } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import type { Parts } from '../../context/large-answers.ts';
import type { Handler } from '../../context/route.ts';
import { idsOf } from '../../http/request-ids.ts';
import { readAnyUser } from '../../params/params.ts';

/**
 * Answers with all data of the user, a JSON object a line. An answer without a last line of kind `end` is
 * incomplete.
 */
export const exportUser: Handler = async (context, request, reply) => {
  const user = readAnyUser(request);
  const path = `/apps/${encodeURIComponent(user.appName)}/users/${encodeURIComponent(user.userId)}`;
  function* lines(): Parts {
    const records = exportUserData(context.mesh, user);
    let isOver = false;
    const next = async () => {
      try {
        const { value, done } = await records.next();
        isOver = done === true;
        return value ? `${JSON.stringify(lineOf(value, path))}\n` : '';
      } catch (thrown) {
        // The status may have been sent already.
        isOver = true;
        const { traceId } = idsOf(request);
        context.log.error({ traceId, err: thrown }, 'an export was interrupted');
        return `${JSON.stringify({ kind: 'error', ...MeshError.from(thrown).toWire(), traceId })}\n`;
      }
    };
    while (!isOver) yield next;
  }
  return await context.large.sendLines(request, reply, lines);
};

/** Returns the line of a record; for a file with the address of its bytes. */
function lineOf(record: UserRecord, path: string) {
  if (record.kind !== 'artifact') return record;
  const { open: _open, ...about } = record;
  const { sessionId = '-', filename, version, fileUri } = about;
  const file = `${path}/sessions/${encodeURIComponent(sessionId)}/artifacts/${encodeURIComponent(filename)}`;
  return { ...about, ...(fileUri === undefined && { content: `${file}/versions/${version}/content` }) };
}
