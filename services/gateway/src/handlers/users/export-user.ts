import { Readable } from 'node:stream';
import { exportUserData, type UserRecord } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
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
  async function* lines() {
    try {
      for await (const record of exportUserData(context.mesh, user))
        yield `${JSON.stringify(lineOf(record, path))}\n`;
    } catch (thrown) {
      // The status was sent already.
      const { traceId } = idsOf(request);
      context.log.error({ traceId, err: thrown }, 'an export was interrupted');
      yield `${JSON.stringify({ kind: 'error', ...MeshError.from(thrown).toWire(), traceId })}\n`;
    }
  }
  reply.header('content-type', 'application/x-ndjson');
  return reply.send(Readable.from(lines()));
};

/** Returns the line of a record; for a file with the address of its bytes. */
function lineOf(record: UserRecord, path: string) {
  if (record.kind !== 'artifact') return record;
  const { open: _open, ...about } = record;
  const { sessionId = '-', filename, version, fileUri } = about;
  const file = `${path}/sessions/${encodeURIComponent(sessionId)}/artifacts/${encodeURIComponent(filename)}`;
  return { ...about, ...(fileUri === undefined && { content: `${file}/versions/${version}/content` }) };
}
