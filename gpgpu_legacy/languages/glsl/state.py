"""GLSL's built-in variables (7.2 to 7.6), and the OpenGL state with their values."""

from __future__ import annotations

_COLOURS = "vec4 ambient; vec4 diffuse; vec4 specular;"

DECLARED = (
    "varying vec4 gl_FragCoord;",
    "varying vec4 gl_Color;",
    "varying vec4 gl_SecondaryColor;",
    "varying vec4 gl_TexCoord[8];",
    "varying float gl_FogFragCoord;",
    "out vec4 gl_FragColor;",
    "out vec4 gl_FragData[8];",
    "out float gl_FragDepth;",
    "const int gl_MaxDrawBuffers = 8;",
    "const int gl_MaxTextureCoords = 8;",
    "const int gl_MaxTextureUnits = 8;",
    "const int gl_MaxTextureImageUnits = 16;",
    "const int gl_MaxLights = 8;",
    *(
        f"uniform mat4 gl_{name}Matrix{kind}{count};"
        for name, count in (
            ("ModelView", ""), ("Projection", ""), ("ModelViewProjection", ""), ("Texture", "[8]"),
        )
        for kind in ("", "Inverse", "Transpose", "InverseTranspose")
    ),
    "uniform mat3 gl_NormalMatrix;",
    "uniform struct gl_DepthRangeParameters { float near, far, diff; } gl_DepthRange;",
    "uniform struct gl_FogParameters { vec4 color; float density, start, end, scale; } gl_Fog;",
    "uniform struct gl_LightModelParameters { vec4 ambient; } gl_LightModel;",
    "uniform struct gl_LightModelProducts { vec4 sceneColor; } gl_FrontLightModelProduct;",
    f"uniform struct gl_LightProducts {{ {_COLOURS} }} gl_FrontLightProduct[8];",
    f"uniform struct gl_MaterialParameters {{ {_COLOURS} vec4 emission; float shininess; }} "
    "gl_FrontMaterial;",
    f"uniform struct gl_LightSourceParameters {{ {_COLOURS} vec4 position, halfVector; "
    "vec3 spotDirection; float spotExponent, spotCosCutoff, constantAttenuation, "
    "linearAttenuation, quadraticAttenuation; } gl_LightSource[8];",
    "uniform vec4 gl_TextureEnvColor[8];",
)  # fmt: skip
"""The declarations of built-in variables. A text gets those that it names."""

_MATRICES = {
    "ModelView": ("", "modelview[0]"),
    "Projection": ("", "projection"),
    "ModelViewProjection": ("", "mvp"),
    "Texture": (r"(?P<n>\d)_", r"texture[\g<n>]"),
}
# GLSL names a matrix's columns, OpenGL's state its rows.
_ROWS = {"": "transpose.", "Inverse": "invtrans.", "Transpose": "", "InverseTranspose": "inverse."}

STATE = [
    *(
        (rf"gl_{name}Matrix{kind}_{index}(?P<row>\d)", rf"matrix.{path}.{rows}row[\g<row>]")
        for name, (index, path) in _MATRICES.items()
        for kind, rows in _ROWS.items()
    ),
    (r"gl_NormalMatrix_(\d)", r"matrix.modelview[0].inverse.row[\1]"),
    (r"gl_LightSource_(\d)_(ambient|diffuse|specular|position)", r"light[\1].\2"),
    (r"gl_LightSource_(\d)_halfVector", r"light[\1].half"),
    (r"gl_LightSource_(\d)_spotDirection", r"light[\1].spot.direction"),
    (r"gl_LightSource_(\d)_spotCosCutoff", r"light[\1].spot.direction w"),
    (r"gl_LightSource_(\d)_constantAttenuation", r"light[\1].attenuation x"),
    (r"gl_LightSource_(\d)_linearAttenuation", r"light[\1].attenuation y"),
    (r"gl_LightSource_(\d)_quadraticAttenuation", r"light[\1].attenuation z"),
    (r"gl_LightSource_(\d)_spotExponent", r"light[\1].attenuation w"),
    (r"gl_LightModel_ambient", "lightmodel.ambient"),
    (r"gl_FrontLightModelProduct_sceneColor", "lightmodel.front.scenecolor"),
    (r"gl_FrontLightProduct_(\d)_(\w+)", r"lightprod[\1].front.\2"),
    (r"gl_FrontMaterial_(\w+)", r"material.front.\1"),
    (r"gl_TextureEnvColor_(\d)", r"texenv[\1].color"),
    (r"gl_Fog_color", "fog.color"),
    (r"gl_Fog_density", "fog.params x"),
    (r"gl_Fog_start", "fog.params y"),
    (r"gl_Fog_end", "fog.params z"),
    (r"gl_Fog_scale", "fog.params w"),
    (r"gl_DepthRange_near", "depth.range x"),
    (r"gl_DepthRange_far", "depth.range y"),
    (r"gl_DepthRange_diff", "depth.range z"),
]
"""Patterns of the names of their leaves, each with its state and perhaps the component."""
