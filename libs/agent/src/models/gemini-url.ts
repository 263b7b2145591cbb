import type { GoogleGenAIOptions } from '@google/genai';

/** The options of a client of Gemini that decide where its server is. */
export interface GeminiPlace {
  baseUrl?: string | undefined;
  vertexai?: boolean | undefined;
  location?: string | undefined;
  client?: GoogleGenAIOptions | undefined;
}

/** Returns the address of the server that `@google/genai` asks. */
export function geminiUrlOf({ baseUrl, client, ...given }: GeminiPlace): string {
  const { vertexai = client?.vertexai, location = client?.location } = given;
  const { GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL } = process.env;
  const ofEnvironment = vertexai ? GOOGLE_VERTEX_BASE_URL : GOOGLE_GEMINI_BASE_URL;
  const place = location === undefined || location === 'global' ? '' : `${location}-`;
  const usual = vertexai
    ? `https://${place}aiplatform.googleapis.com`
    : 'https://generativelanguage.googleapis.com';
  return baseUrl ?? client?.httpOptions?.baseUrl ?? (ofEnvironment || usual);
}
