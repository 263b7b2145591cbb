/**
 * A security scheme of OpenAPI 3, or OpenID Connect with its endpoints written out: `authorizationEndpoint`, `tokenEndpoint`, `scopes`,
 * `grantTypesSupported`, and `issuer`, without which ID tokens cannot be checked and are dropped.
 */
export interface AuthScheme {
  type: 'apiKey' | 'http' | 'oauth2' | 'openIdConnect';
  [key: string]: unknown;
}

/** ADK's names of the kinds of credentials. */
export const AuthCredentialTypes = {
  API_KEY: 'apiKey',
  HTTP: 'http',
  OAUTH2: 'oauth2',
  OPEN_ID_CONNECT: 'openIdConnect',
  SERVICE_ACCOUNT: 'serviceAccount',
} as const;
export type AuthCredentialTypes = (typeof AuthCredentialTypes)[keyof typeof AuthCredentialTypes];

export interface HttpCredentials {
  username?: string;
  password?: string;
  token?: string;
}

export interface HttpAuth {
  scheme?: string;
  credentials?: HttpCredentials;
}

/** What a client is told of an OAuth2 grant, and what it sends back. The names are ADK's. */
export interface OAuth2Credential {
  clientId?: string;
  clientSecret?: string;
  /** Where the user signs in. */
  authUri?: string;
  state?: string;
  redirectUri?: string;
  /** The whole URL that the user came back to. */
  authResponseUri?: string;
  authCode?: string;
  accessToken?: string;
  refreshToken?: string;
  idToken?: string;
  /** Epoch seconds. */
  expiresAt?: number;
  /** Seconds. */
  expiresIn?: number;
  /** For whom the tokens shall be good, where the server wants to know. */
  audience?: string;
  /** How the client shows its secret to the token endpoint; default `client_secret_basic`, without a secret `none`. */
  tokenEndpointAuthMethod?: 'client_secret_basic' | 'client_secret_post' | 'none';
  [key: string]: unknown;
}

export interface AuthCredential {
  authType: AuthCredentialTypes;
  apiKey?: string;
  http?: HttpAuth;
  oauth2?: OAuth2Credential;
  [key: string]: unknown;
}

/** What a tool needs in order to act for a user: how to sign in, with what, and under which name it is kept. */
export interface AuthConfig {
  authScheme: AuthScheme;
  /** The application's own part: client id and secret. It stays in the process of the tool. */
  rawAuthCredential?: AuthCredential;
  /** The user's part. */
  exchangedAuthCredential?: AuthCredential;
  /** Names the credential among those of the user in the app: tools that give the same key share it. */
  credentialKey: string;
}
