/* The coefficients of isa/vecmath.h: polynomials, lowest power first. Each is a minimax
   approximation by the Remez exchange, in 45 digits: of the error as it counts in the result, on the
   interval given. Then it was rounded. */

#ifndef MINIGRAD_VM_COEFFICIENTS_H
#define MINIGRAD_VM_COEFFICIENTS_H

/* (exp(r) - 1 - r) / r^2 for |r| <= log(2)/2; error of exp: 2^-60 */
static const double EXP_TAIL[] = {
    0x1.0000000000000p-1, 0x1.555555555555cp-3, 0x1.555555555555ep-5, 0x1.111111110eb36p-7,
    0x1.6c16c16c134b9p-10, 0x1.a01a01b3edbbfp-13, 0x1.a01a01b4907cdp-16, 0x1.71ddef10b7f76p-19,
    0x1.27e4beba883e6p-22, 0x1.af6db7fadea08p-26, 0x1.1f9e9c8be3c20p-29,
};
/* (log((1 + s)/(1 - s))/s - 2) / s^2 in s^2, for |s| <= 0.172; error of log/s: 2^-57 */
static const double LOG_TAIL[] = {
    0x1.5555555555594p-1, 0x1.999999997f139p-2, 0x1.24924942b4dc1p-2, 0x1.c71c515cd5613p-3,
    0x1.746664d1dd977p-3, 0x1.399dac5a5480cp-3, 0x1.2f307a9b617f5p-3,
};
/* (sin(r)/r - 1) / r^2 in r^2, for |r| <= pi/4; error of sin/r: 2^-56 */
static const double SIN_TAIL[] = {
    -0x1.5555555555549p-3, 0x1.111111110f84ap-7, -0x1.a01a019c0afd5p-13, 0x1.71de35719a457p-19,
    -0x1.ae5e613035abfp-26, 0x1.5d9179fda95dcp-33,
};
/* (cos(r) - 1 + r^2/2) / r^4 in r^2, for |r| <= pi/4; error of cos: 2^-59 */
static const double COS_TAIL[] = {
    0x1.555555555554cp-5, -0x1.6c16c16c15177p-10, 0x1.a01a019cb01a6p-16, -0x1.27e4f8082e824p-22,
    0x1.1ee9ea64e0d9bp-29, -0x1.8fadaf24e1c34p-37,
};
/* erf(x)/x - 1 in x^2, for |x| <= 1; error of erf/x: 2^-56 */
static const double ERF_TAIL[] = {
    0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b34p-4, -0x1.b82ce31284f38p-6,
    0x1.565bcd0dbd922p-8, -0x1.c02db3db4989dp-11, 0x1.f9a321e4bc150p-14, -0x1.f4d1e4351d222p-17,
    0x1.b9df306299835p-20, -0x1.5f1f4134f49bep-23, 0x1.f7b9a036e904bp-27, -0x1.38ac2bcb75734p-30,
    0x1.062774aa4295dp-34,
};
/* log(erfc(1 + u)) for 0 <= u <= 5; error of erfc: 2^-57 */
static const double LOG_ERFC[] = {
    -0x1.d97fbf27aa2a1p+0, -0x1.51c9b0006c236p+1, -0x1.afabc11a295f4p-1, -0x1.5477f09c037a2p-5,
    0x1.48c9d3eb20ddcp-7, -0x1.033f65b04f706p-9, 0x1.f1b3898c4d991p-13, 0x1.b8de9c0a691aep-16,
    -0x1.c7a77df530816p-16, 0x1.426bd07a193a2p-17, -0x1.147537ff25bfap-19, 0x1.32d2e273c9d6ep-23,
    0x1.a2f5a70ecfc9fp-24, -0x1.beff6d8c3a92ap-25, 0x1.002c5cb2102bdp-26, -0x1.899f82ccc329cp-29,
    0x1.94e1ece077366p-32, -0x1.fae973fe0230bp-36, 0x1.2477ff684eedfp-40,
};
/* (x + 1/2) exp(x^2) erfc(x) in (x - 3.5)/(x + 3.5), for 0.5 <= x <= 28; error: 2^-58, once the
   rounding of the first coefficient is added */
static const double ERFCX[] = {
    0x1.3e0a99a0ee914p-1, -0x1.1ebd220ea593cp-4, -0x1.59e2c284b11e8p-8, 0x1.8f702ec6b33c5p-5,
    -0x1.d76830c35322ap-5, 0x1.686106046d5a7p-5, -0x1.8ff5ef76d0f7bp-6, 0x1.38ec667188f45p-7,
    -0x1.143c4ca75f160p-9, -0x1.3cf36a90b0c5cp-13, 0x1.27e664dc9d4ccp-12, -0x1.fda8f1c5da0c6p-15,
    -0x1.66e2242e5dabdp-16, 0x1.9707748014a4fp-17, 0x1.3880d5ca4edb3p-20, -0x1.ffeb64f9b4ea4p-20,
    -0x1.7c8cf30ca9d8ep-26, 0x1.41f75fa12eaf3p-22, -0x1.0de7d47d8a8acp-28, -0x1.8de6fb23c853dp-25,
    0x1.295bc71f24b92p-32, 0x1.60c92b511a560p-28,
};
static const double ERFCX_FIRST_REST = -0x1.8338370111bfcp-58;

/* log(2) and pi/2 in parts; products of all but the last with a whole number (to 1131 and to 65536)
   are exact. */
static const double LN2_HEAD = 0x1.62e42fefa38p-1, LN2_REST = 0x1.ef35793c7673p-45;
static const double QUARTER[] = {
    0x1.921fb54440000p+0, 0x1.68c234c4c0000p-39, 0x1.98a2e03700000p-77, 0x1.cd129024e088ap-115,
};
static const double LOG2_E = 0x1.71547652b82fep+0, TWO_OVER_PI = 0x1.45f306dc9c883p-1;

/* The same for float32.h, rounded to floats. EXP_TAIL: error of exp 2^-28; LOG_TAIL: of log/s 2^-30;
   TANH_TAIL: (tanh(x)/x - 1)/x^2 in x^2 for |x| <= 0.625, of tanh/x 2^-27; ERF_TAIL: of erf/x 2^-29;
   LOG_ERFC: for 0 <= u <= 3, of erfc 2^-29, absolutely. */
static const float EXP_TAIL_F32[] = {
    0x1.fffffcp-2, 0x1.55549p-3, 0x1.5558f4p-5, 0x1.123a6cp-7, 0x1.6a234ep-10,
};
static const float LOG_TAIL_F32[] = {0x1.55557ap-1, 0x1.995e92p-2, 0x1.31e796p-2};
static const float TANH_TAIL_F32[] = {
    -0x1.555532p-2, 0x1.110726p-3, -0x1.b83c5ap-5, 0x1.52269cp-6, -0x1.75e1d0p-8,
};
static const float ERF_TAIL_F32[] = {
    0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cf8p-4, -0x1.b7f90ep-6, 0x1.5405b2p-8, -0x1.a3f702p-11,
    0x1.496a36p-14,
};
static const float LOG_ERFC_F32[] = {
    -0x1.d97fc0p+0, -0x1.51c9aap+1, -0x1.afad34p-1, -0x1.53f94p-5, 0x1.441ad2p-7, -0x1.deb7bep-10,
    0x1.852d42p-13,
};
static const float LN2_HEAD_F32 = 0x1.62e4p-1f, LN2_REST_F32 = 0x1.7f7d1cp-20f;

/* A double of this size holds a whole number in its last bits: adding it rounds. */
static const double ROUNDER = 0x1.8p52;
#endif
