import { MeshError, parse } from '@agentmesh/protocol';
import type { Part } from '@google/genai';
import { z } from 'zod';

/** The metadata that is stored beside the bytes of a version. */
export const artifactAboutSchema = z.object({
  mimeType: z.string(),
  customMetadata: z.record(z.string(), z.unknown()),
  /** The part without its bytes. The place of the bytes depends on the kind of the part. */
  part: z.record(z.string(), z.unknown()),
});

export type ArtifactAbout = z.infer<typeof artifactAboutSchema>;

const octetStream = 'application/octet-stream';
/** Longest name of a file, in bytes of UTF-8. */
const maxNameBytes = 512;
/** Longest metadata of a version, in characters of JSON. */
const maxAboutLength = 64 * 1024;

/**
 * Splits a part into bytes and metadata.
 *
 * @throws MeshError `invalid_argument` for a part that is not a file
 */
export function takeApart(
  filename: string,
  artifact: Part,
  customMetadata: Record<string, unknown> = {},
): { about: ArtifactAbout; bytes: Uint8Array } {
  const { inlineData, text, fileData } = artifact;
  if (inlineData) {
    const { data = '', ...rest } = inlineData;
    const mimeType = inlineData.mimeType ?? octetStream;
    const part = { ...artifact, inlineData: rest };
    return { about: checkedAbout({ mimeType, customMetadata, part }), bytes: bytesOf(data, filename) };
  }
  if (typeof text === 'string') {
    const { text: _text, ...part } = artifact;
    return {
      about: checkedAbout({ mimeType: 'text/plain', customMetadata, part }),
      bytes: Buffer.from(text),
    };
  }
  if (fileData) {
    const mimeType = fileData.mimeType ?? octetStream;
    return {
      about: checkedAbout({ mimeType, customMetadata, part: { ...artifact } }),
      bytes: new Uint8Array(),
    };
  }
  throw new MeshError(
    'invalid_argument',
    `artifact ${filename} has no content: give it text, inlineData or fileData`,
  );
}

/** Either base64 alphabet. `Buffer` would turn other characters into bytes that nobody sent. */
const base64 = /^[\w+/\s-]*={0,2}\s*$/;

/** Tells whether a text is base64, of either alphabet. */
export function isBase64(data: unknown): data is string {
  return typeof data === 'string' && base64.test(data);
}

function bytesOf(data: unknown, filename: string): Uint8Array {
  if (isBase64(data)) return Buffer.from(data, 'base64');
  throw new MeshError('invalid_argument', `the data of artifact ${filename} is not base64; encode it`);
}

const mimeTypePattern = /^[\w!#$&^.+-]+\/[\w!#$&^.+*-]+(?:[ \t]*;[\x20-\x7e]*)?$/;

/**
 * Tells whether it is `type/subtype`, with parameters of printable ASCII. No header could hold other text.
 */
export function isMimeType(text: string): boolean {
  return mimeTypePattern.test(text);
}

/** Makes the metadata for a stream's bytes. */
export function aboutStream(mimeType = octetStream, customMetadata: Record<string, unknown> = {}) {
  return checkedAbout({ mimeType, customMetadata, part: { inlineData: { mimeType } } });
}

/** Rebuilds the part from metadata and bytes. */
export function putTogether({ part }: ArtifactAbout, bytes: Uint8Array): Part {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (part.inlineData) {
    return { ...part, inlineData: { ...(part.inlineData as object), data: buffer.toString('base64') } };
  }
  return part.fileData ? { ...part } : { ...part, text: buffer.toString() };
}

/** Returns the metadata as JSON stores it, so that invalid values fail here and not at the first load. */
function checkedAbout(about: ArtifactAbout): ArtifactAbout {
  if (typeof about.mimeType !== 'string' || !isMimeType(about.mimeType))
    throw new MeshError(
      'invalid_argument',
      `${JSON.stringify(about.mimeType)} is not a MIME type; give one such as image/png`,
    );
  let text: string;
  try {
    text = JSON.stringify(about);
  } catch (cause) {
    throw new MeshError('invalid_argument', 'the metadata of an artifact must be JSON', { cause });
  }
  if (text.length > maxAboutLength) {
    throw new MeshError(
      'invalid_argument',
      `the metadata of an artifact is over ${maxAboutLength} characters; put what is large into a file`,
    );
  }
  return parse(artifactAboutSchema, JSON.parse(text), 'the metadata of an artifact');
}

/**
 * Checks the name of a file.
 *
 * @throws MeshError `invalid_argument` for an invalid name
 */
export function assertFilename(filename: string): string {
  if (filename === '' || filename === 'user:')
    throw new MeshError('invalid_argument', 'an artifact needs a name');
  // In the path of an address these are not names.
  if (filename === '.' || filename === '..')
    throw new MeshError('invalid_argument', `an artifact cannot be named ${filename}; use another name`);
  if (!filename.isWellFormed())
    throw new MeshError('invalid_argument', 'the name of an artifact must be well-formed Unicode');
  if (Buffer.byteLength(filename) > maxNameBytes) {
    throw new MeshError(
      'invalid_argument',
      `the name of an artifact is over ${maxNameBytes} bytes; use a shorter one`,
    );
  }
  return filename;
}

/**
 * Checks a version number.
 *
 * @throws MeshError `invalid_argument`
 */
export function assertVersion(version: number | undefined): number | undefined {
  if (version === undefined || (Number.isSafeInteger(version) && version >= 0)) return version;
  throw new MeshError('invalid_argument', `a version is a whole number from 0, not ${version}`);
}

/** Tells whether a name belongs to the user rather than to a session. */
export function isOfUser(filename: string): boolean {
  return filename.startsWith('user:');
}
