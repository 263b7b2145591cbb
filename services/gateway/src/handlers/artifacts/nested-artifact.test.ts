import { describe, expect, it } from 'vitest';
import type { Handler } from '../../context/route.ts';
import { uploadArtifact } from './artifact-content.ts';
import { deleteNestedArtifact, uploadNestedArtifact } from './nested-artifact.ts';

/** Calls a handler without a store: a request that it does not refuse fails with a `TypeError`. */
async function call(handle: Handler, path: string, headers: Record<string, string> = {}): Promise<unknown> {
  const request = { params: { '*': path }, headers, query: {} } as unknown as Parameters<Handler>[1];
  return await handle({} as Parameters<Handler>[0], request, {} as Parameters<Handler>[2]);
}

describe('a path below the artifacts of a session', () => {
  it('names no artifact to upload when it is content alone', async () => {
    await expect(async () => await call(uploadNestedArtifact, 'content')).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it.each([
    'a.txt/versions/0',
    'a.txt/versions',
    'a.txt/versions/0/content',
    'a.txt/versions/0/metadata',
    'a.txt/content',
    'x/y/versions/0',
    'x/y/content',
    '/content',
  ])('cannot be deleted as %s, which is no whole artifact', async (path) => {
    await expect(async () => await call(deleteNestedArtifact, path)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });

  it.each(['content-range', 'if-match', 'if-none-match'])('takes no upload with %s', async (name) => {
    await expect(async () => await call(uploadArtifact, 'a.txt', { [name]: '*' })).rejects.toThrow(name);
  });
});
